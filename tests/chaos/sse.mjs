// Server-sent events over a connection of their own, which may break at any byte.
import http from 'node:http';

// Calls onEvent({ id, data }) for each whole event. Resolves with the status and the body of what
// is no event stream; { status: 200 } says nothing about how the stream ended: its events do.
// Rejects when there was no answer at all.
export function readEvents(url, { method = 'GET', headers = {}, body } = {}, onEvent = () => {}) {
  return new Promise((resolve, reject) => {
    const request = http.request(url, { method, agent: false, headers }, (response) => {
      const isStream = /^text\/event-stream/.test(response.headers['content-type'] ?? '');
      let text = '';
      response.setEncoding('utf8');
      response.on('data', (piece) => {
        text += piece;
        if (!isStream) return;
        const events = text.split('\n\n');
        text = events.pop();
        for (const event of events) onEvent(parseEvent(event));
      });
      response.on('error', () => {});  // 'close' follows.
      response.on('close', () => {
        if (isStream) resolve({ status: response.statusCode });
        else if (response.complete) resolve({ status: response.statusCode, body: text });
        else reject(new Error('the answer broke off'));
      });
    });
    request.on('error', reject);
    request.end(body);
  });
}

function parseEvent(text) {
  const event = { data: '' };
  for (const line of text.split('\n')) {
    if (line.startsWith('id: ')) event.id = line.slice(4);
    if (line.startsWith('data: ')) event.data += line.slice(6);
  }
  return event;
}
