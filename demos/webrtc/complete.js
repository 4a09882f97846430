// When each frame was complete: the browser shows it here between putting its packets together and its jitter buffer. One line a frame,
// by the RTP timestamp, which the decoded picture has too.

onrtctransform = ({ transformer }) => {
  transformer.readable.pipeThrough(new TransformStream({
    transform(frame, out) {
      const { rtpTimestamp } = frame.getMetadata();
      postMessage([rtpTimestamp ?? frame.timestamp, Date.now(), frame.data.byteLength, frame.type]);
      out.enqueue(frame);
    },
  })).pipeTo(transformer.writable).catch(() => {});
};
