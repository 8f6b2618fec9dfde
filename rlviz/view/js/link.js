// The notebook's controls are widgets of the kernel: what they say comes as one small trait, and
// what became of it goes back as a message.

export function linkControls(lens, model, send) {
  const { controls } = lens;
  let stepped = model.get("_controls").step?.[0] ?? 0;
  const obey = () => {
    const { step, ...choices } = model.get("_controls");
    const changed = Object.entries(choices).some(
      ([key, value]) => String(controls.choices[key]) !== String(value),
    );
    if (changed) controls.choose(choices);
    if (step === undefined || step[0] === stepped) return;
    stepped = step[0];
    controls.stepMatch(step[1]);
  };
  const tell = () => send({ kind: "found", text: controls.counted });
  model.on("change:_controls", obey);
  controls.watchers.add(tell);
  lens.stopping.push(() => model.off("change:_controls", obey));
  obey();
}
