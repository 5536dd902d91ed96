// A binary chunk (docs/formats/protocol.md) as an INFER_CHUNK; n = 0 is the end.
export function binaryChunk(bytes) {
  if (bytes.readUInt16BE(0) !== 0x464d || bytes[2] !== 2) throw new Error('not an FM frame');
  const flags = bytes[3];
  const payload = bytes.subarray(16, 16 + bytes.readUInt32BE(12));
  const n = payload.readUInt16BE(0);
  const tokens = [];
  let at = 2;
  if (flags & 8) for (let i = 0; i < n; i++, at += 4) tokens.push(payload.readInt32BE(at));
  if (flags & 16) at += 4 * n;
  return {
    type: 'INFER_CHUNK', channel: bytes.readUInt32BE(4), seq: bytes.readUInt32BE(8), n, tokens,
    text: new TextDecoder('utf-8', { fatal: true }).decode(payload.subarray(at)),
  };
}
