// Bytes that came compressed.

export async function unzipped(bytes) {
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

// Of a text in base64, as JSON carries bytes.
export function unzippedText(text) {
  return unzipped(Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0)));
}
