"""The tables that a reader looks at, and their columns in each generation of nsys's schema."""

from __future__ import annotations

__all__ = ["FROM_2022", "GENERATIONS", "TABLES", "columns_of", "version_of"]

GENERATIONS = {
    "2020": "",
    "2.9.1": "2022.2.1.31",
    "3.0.0": "2022.4.2.1",
    "3.1.2": "2023.1.2.43",
    "3.7.2": "2023.4.4.54",
    "3.20.2": "2025.3.1.90",
    "3.25.0": "2026.2.1.210",
}
"""Schema version to the version of nsys that wrote it; 2020 wrote neither."""

FROM_2022 = (2, 9)

# "column@version" exists from that version of the schema; columns are INTEGER unless typed.
_LAUNCH = "deviceId contextId greenContextId@3.7.2 streamId correlationId globalPid"
TABLES = {
    "CUPTI_ACTIVITY_KIND_KERNEL": f"start end {_LAUNCH} demangledName shortName mangledName"
    " launchType cacheConfig registersPerThread gridX gridY gridZ blockX blockY blockZ"
    " staticSharedMemory dynamicSharedMemory localMemoryPerThread localMemoryTotal gridId"
    " sharedMemoryExecuted graphNodeId sharedMemoryLimitConfig qmdBulkReleaseDone@3.24"
    " qmdPreexitDone@3.24 qmdLastCtaDone@3.24 graphId@3.24 clusterX@3.24 clusterY@3.24"
    " clusterZ@3.24 clusterSchedulingPolicy@3.24 maxPotentialClusterSize@3.24"
    " maxActiveClusters@3.24 sharedMemoryRequestedPercentage@3.25"
    " tensorSizeMinusOneElements:TEXT@3.25",
    "CUPTI_ACTIVITY_KIND_MEMCPY": f"start end {_LAUNCH} bytes copyKind deprecatedSrcId srcKind"
    " dstKind srcDeviceId srcContextId dstDeviceId dstContextId migrationCause graphNodeId"
    " virtualAddress copyCount@3.20",
    "CUPTI_ACTIVITY_KIND_MEMSET": f"start end {_LAUNCH} value bytes graphNodeId memKind",
    "CUPTI_ACTIVITY_KIND_GRAPH_TRACE": f"start end {_LAUNCH} graphId graphExecId",
    "CUPTI_ACTIVITY_KIND_RUNTIME": "start end eventClass globalTid correlationId nameId"
    " returnValue callchainId",
    "NVTX_EVENTS": "start end eventType rangeId category color text:TEXT globalTid endGlobalTid"
    " textId domainId uint64Value int64Value doubleValue:REAL uint32Value int32Value"
    " floatValue:REAL jsonTextId@2.9 jsonText:TEXT@2.9 binaryData:TEXT@3.16",
    "StringIds": "id:INTEGER_PRIMARY_KEY value:TEXT",
    "ThreadNames": "nameId priority globalTid",
    "PROCESSES": "globalPid@2.9 pid@2.9 name:TEXT@2.9",
    "TARGET_INFO_SESSION_START_TIME": "utcEpochNs@2.9 utcTime:TEXT@2.9 localTime:TEXT@2.9"
    " systemClockNs@3.24.7",
    "TARGET_INFO_SYSTEM_ENV": "globalVid devStateName:TEXT name:TEXT nameEnum value:TEXT",
    "TARGET_INFO_GPU": "vmId@2.9 id@2.9 name:TEXT@2.9 busLocation:TEXT@2.9 totalMemory@2.9"
    " smCount@2.9 uuid:TEXT@2.9 chipName:TEXT@2.9 cuDevice@2.9",
    "TARGET_INFO_CUDA_DEVICE": "gpuId@3.17 cudaId@3.17 pid@3.17 uuid:TEXT@3.24.7"
    " numMultiprocessors@3.24.7",
    "TARGET_INFO_CUDA_CONTEXT_INFO": "nullStreamId@3.7.2 hwId@3.7.2 vmId@3.7.2 processId@3.7.2"
    " deviceId@3.7.2 contextId@3.7.2 parentContextId@3.7.2 isGreenContext@3.7.2",
    "ANALYSIS_DETAILS": "globalVid@2.9 duration@2.9 startTime@2.9 stopTime@2.9",
    "EXPORT_META_DATA": "name:TEXT value:TEXT",
    "META_DATA_EXPORT": "name:TEXT value:TEXT",
    "META_DATA_CAPTURE": "name:TEXT value:TEXT",
}


def version_of(text: str) -> tuple[int, ...]:
    return (1,) if text == "2020" else tuple(int(part) for part in text.split("."))


def columns_of(table: str, version: tuple[int, ...]) -> dict[str, str]:
    """Columns of a table with their types; empty if that version lacks the table."""
    columns = {}
    for word in TABLES[table].split():
        column, _, since = word.partition("@")
        if not since or version >= version_of(since):
            name, _, kind = column.partition(":")
            columns[name] = kind.replace("_", " ") or "INTEGER"
    return columns
