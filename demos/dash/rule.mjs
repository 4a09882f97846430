// A rule of the simulator with its video, for a page or for Node.js: the same code, compiled to WebAssembly (`rule/`). Times are in seconds.

/** A session of `transport`, a text as in a scenario's flow; `module` is a compiled WebAssembly.Module. */
export async function session(module, transport, seed = 1) {
  const { exports: code } = await WebAssembly.instantiate(module);
  // The memory may move while room is made, so that its buffer is taken after that.
  const room = (bytes) => {
    const at = code.text(bytes);
    return new Uint8Array(code.memory.buffer, at, bytes);
  };
  const text = new TextEncoder().encode(transport);
  room(text.length).set(text);
  const problem = code.open(seed);
  if (problem > 0) throw new Error(new TextDecoder().decode(room(problem)));
  return {
    /** The video: bit rates in bit/s, the length of a chunk, bytes of each chunk at each of the bit rates; and what the player keeps. */
    film() {
      const all = (count, of) => Array.from({ length: count }, (_, index) => of(index));
      return {
        ladder: all(code.rungs(), code.bps),
        chunk: code.chunk_seconds(),
        sizes: all(code.chunks(), (chunk) => all(code.rungs(), (rung) => code.chunk_bytes(chunk, rung))),
        bufferMax: code.buffer_max(),
        startup: code.startup(),
      };
    },
    /** Plays chunks of these sizes in place of the transport's own. */
    takeSizes(chunk, sizes) {
      sizes.flat().forEach(code.add_size);
      if (!code.take_sizes(chunk)) throw new Error('a chunk does not have as many sizes as there are bit rates');
    },
    /** The rung of chunk `next` with `buffer` of video there, after one at `last`, which is null for the first. */
    choose: (now, buffer, next, last) => code.choose(now, buffer, next, last ?? -1),
    downloaded: ({ rung, bytes, wait, transfer }) => code.downloaded(rung, bytes, wait, transfer),
    /** The buffer at which the next chunk is to be requested. */
    patience: () => code.patience(),
    /** The figures of a session that did what it was told in `downloaded`, by the names of `stream` in results. */
    figures({ startup, stalls, stalled, played }, chunks) {
      const qoe = code.qoe(startup, stalled);
      return {
        chunks, bitrate_mbps: code.bitrate_mbps(), startup_ms: startup * 1000, stalls, stalled_s: stalled, switches: code.switches(),
        played_s: played, qoe, qoe_per_chunk: qoe / Math.max(1, chunks),
      };
    },
  };
}
