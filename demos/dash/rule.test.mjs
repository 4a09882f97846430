// The rules as the page has them choose as the published programs do: `node rule.test.mjs RULE.wasm REFERENCE-FOLDER`, with the choices
// that were recorded in crates/qdelay-traffic/tests/reference. Prints a line for each rule; the exit status is 1 where one chooses otherwise.

import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { session } from './rule.mjs';

const [file, folder] = process.argv.slice(2);
const module = await WebAssembly.compile(await readFile(file));
/** Rows below comments and the header. */
const rows = async (name) => (await readFile(path.join(folder, name), 'utf8')).trim().split('\n')
  .filter((line) => !line.startsWith('#')).slice(1).map((line) => line.split('\t'));
const sizes = (await rows('abr-video.tsv')).map((row) => row.slice(1).map(Number));
const micros = (text) => Number(text) / 1e6;

/** What a rule chooses with a buffer of at most `most`; a choice is sequence, chunk, buffer, rung, bytes, wait, transfer. */
async function judge(rule, most, choices) {
  let running = null;
  let last = null;
  let [all, same] = [0, 0];
  for (const [, chunk, buffer, rung, bytes, wait, transfer] of choices) {
    if (chunk === 0) {
      running = await session(module, `dash:abr=[${rule}]:buffer=${most}s`);
      running.takeSizes(4, sizes);
      last = null;
    }
    const chosen = running.choose(0, buffer, chunk, last);
    if (chunk > 0) {
      all += 1;
      same += Number(chosen === rung);
    }
    running.downloaded({ rung, bytes, wait, transfer });
    last = rung;
  }
  console.log(`${rule} with ${most} s: ${same} of ${all} choices`);
  if (all !== 470 || same !== all) process.exitCode = 1;
}

const bola = await rows('abr-bola.tsv');
for (const most of [25, 60]) {
  const choices = bola.filter((row) => Number(row[1]) === most);
  await judge('bola', most, choices.map(([sequence, , chunk, buffer, rung, bytes, wait, transfer]) =>
    [sequence, Number(chunk), micros(buffer), Number(rung), Number(bytes), micros(wait), micros(transfer)]));
}
for (const [rule, name, table] of [['robustmpc', 'abr-robustmpc.tsv', 'next'], ['bb:map=rung', 'abr-bb.tsv', '-']]) {
  const choices = (await rows(name)).filter((row) => row[0] === table);
  await judge(rule, 60, choices.map(([, sequence, chunk, buffer, rung, bytes, transfer]) =>
    [sequence, Number(chunk), micros(buffer), Number(rung), Number(bytes), 0, micros(transfer)]));
}
