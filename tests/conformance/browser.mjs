// A real Chromium without a window, spoken to by the DevTools protocol.
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

const require = createRequire(new URL('../e2e/package.json', import.meta.url));
const WebSocket = require('ws');

export class Browser {
  static async start() {
    const browser = new Browser();
    browser.home = mkdtempSync(join(tmpdir(), 'seedance-browser-'));
    // Its sandbox wants rights that tests do not always have; it loads our own page alone.
    browser.process = spawn('chromium', ['--headless', '--no-sandbox', '--disable-gpu',
      '--disable-dev-shm-usage', '--no-first-run', '--disable-extensions',
      '--disable-background-networking', '--remote-debugging-port=0',
      `--user-data-dir=${browser.home}`, 'about:blank'], { stdio: ['ignore', 'ignore', 'pipe'] });
    browser.exited = new Promise((resolve) => browser.process.on('close', resolve));
    const said = [];
    const address = await new Promise((resolve, reject) => {
      browser.process.on('error', reject);
      const lines = createInterface({ input: browser.process.stderr });
      lines.on('line', (line) => {
        said.push(line);
        const found = /^DevTools listening on (ws:.*)$/.exec(line);
        if (found) resolve(found[1]);
      });
      lines.on('close', () => reject(new Error(`chromium ended:\n${said.join('\n')}`)));
    });
    browser.socket = new WebSocket(address);
    await new Promise((resolve, reject) => browser.socket.on('open', resolve).on('error', reject));
    browser.calls = new Map();
    browser.socket.on('message', (text) => browser.#hear(JSON.parse(text)));
    return browser;
  }

  #hear({ id, result, error }) {
    const call = this.calls.get(id);
    this.calls.delete(id);
    if (error) call?.reject(new Error(error.message));
    else call?.resolve(result);
  }

  call(method, params = {}, sessionId = undefined) {
    this.last = (this.last ?? 0) + 1;
    const id = this.last;
    this.socket.send(JSON.stringify({ id, method, params, sessionId }));
    return new Promise((resolve, reject) => this.calls.set(id, { resolve, reject }));
  }

  // A new page, once it is there.
  async open(url) {
    const { targetId } = await this.call('Target.createTarget', { url: 'about:blank' });
    const { sessionId } = await this.call('Target.attachToTarget', { targetId, flatten: true });
    const page = new Page(this, sessionId);
    await page.call('Page.enable');
    await page.call('Page.navigate', { url });
    await page.until(`location.href.startsWith(${JSON.stringify(url)}) &&
      document.readyState === "complete"`);
    return page;
  }

  async stop() {
    this.call('Browser.close');  // Ends its many processes, and is not answered for sure.
    await this.exited;
    this.socket.terminate();
    rmSync(this.home, { recursive: true, force: true, maxRetries: 5 });
  }
}

class Page {
  constructor(browser, session) {
    this.browser = browser;
    this.session = session;
  }

  call(method, params) {
    return this.browser.call(method, params, this.session);
  }

  async evaluate(expression) {
    const { result, exceptionDetails } = await this.call('Runtime.evaluate',
      { expression, awaitPromise: true, returnByValue: true });
    if (exceptionDetails) {
      throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
    }
    return result.value;
  }

  // The value of the expression when it is true, looked at whenever the page shows something new.
  async until(expression) {
    for (;;) {
      try {
        return await this.evaluate(`new Promise((resolve) => {
          const look = () => { const value = ${expression}; if (value) resolve(value); return value; };
          if (look()) return;
          document.addEventListener("readystatechange", look);
          new MutationObserver(look).observe(document, { subtree: true, childList: true,
            characterData: true, attributes: true });
        })`);
      } catch (error) {
        // The document was replaced meanwhile.
        if (!/navigat|context|Promise was collected/i.test(error.message)) throw error;
      }
    }
  }

  // As a person does: into the field, and away from it.
  fill(id, text) {
    return this.evaluate(`{
      const field = document.getElementById(${JSON.stringify(id)});
      field.value = ${JSON.stringify(text)};
      field.dispatchEvent(new Event("input", { bubbles: true }));
      field.dispatchEvent(new Event("change", { bubbles: true }));
    }`);
  }

  async ask(text) {
    await this.fill('prompt', text);
    await this.evaluate('document.getElementById("send").click()');
  }

  // What the last answer is, once it has ended.
  async answer() {
    return this.until(`(() => {
      const last = [...document.querySelectorAll("article.model")].pop();
      if (!last || last.classList.contains("running")) return null;
      const wrong = last.querySelector(".wrong");
      return { text: last.querySelector("p").textContent, wrong: wrong ? wrong.textContent : "",
        note: last.querySelector("small").textContent };
    })()`);
  }

  // Once so much of the last answer is there, which goes on.
  characters(count) {
    return this.until(`(() => {
      const text = [...document.querySelectorAll("article.running p")].pop()?.textContent ?? "";
      return text.length >= ${count} ? text.length : 0;
    })()`);
  }

  status(pattern) {
    return this.until(`(${pattern}.exec(document.getElementById("status").textContent) ?? [])[0]`);
  }
}
