import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdir, readFile } from 'node:fs/promises'
import { createInterface, type Interface } from 'node:readline'
import { fileURLToPath } from 'node:url'

const MOST_COMPLAINTS = 20
const ROOT = fileURLToPath(new URL('../../..', import.meta.url))

/**
 * The process under attack, as a child: an uncaught exception is seen as its exit, and its descriptors and memory are its
 * own. Its first line on stdout is JSON, so is every answer to a line on stdin.
 */
export class Victim implements AsyncDisposable {
  readonly #child: ChildProcess
  readonly #lines: Interface
  readonly ready: Record<string, unknown>
  #said = ''
  /** The first lines of its log that are errors, or not log lines at all, such as traces of uncaught errors. */
  readonly complaints: string[] = []
  #exit: number | string | undefined

  private constructor(child: ChildProcess, lines: Interface, ready: Record<string, unknown>) {
    this.#child = child
    this.#lines = lines
    this.ready = ready
    child.stderr?.on('data', (chunk: Buffer) => (this.#said = (this.#said + chunk.toString()).slice(-20_000)))
    if (child.stderr) createInterface({ input: child.stderr }).on('line', line => this.#note(line))
    child.once('exit', (code, signal) => (this.#exit = code ?? signal ?? 'exit'))
  }

  #note(line: string): void {
    const isCalm = /^\{"level":[1-4]0,/.test(line)
    if (!isCalm && this.complaints.length < MOST_COMPLAINTS) this.complaints.push(line.slice(0, 2_000))
  }

  /** @param script below the repository @param descriptors most that it may open, if not as many as this process */
  static async start(
    script: string,
    environment: Readonly<Record<string, string>>,
    descriptors?: number,
  ): Promise<Victim> {
    const limit = descriptors === undefined ? '' : `ulimit -n ${descriptors} && `
    const child = spawn('sh', ['-c', `${limit}exec "$0" "$@"`, process.execPath, script], {
      cwd: ROOT,
      env: { ...process.env, ...environment },
      stdio: ['pipe', 'pipe', 'pipe'],
    })
    child.stdin.on('error', () => undefined) // A process that has ended accepts no more commands; `assertAlive` reports why.
    const lines = createInterface({ input: child.stdout })
    const failed = once(child, 'exit').then(([code]) => {
      throw new Error(`${script} ended at once (${String(code)})`)
    })
    failed.catch(() => undefined)
    const [line] = (await Promise.race([once(lines, 'line'), failed])) as [string]
    return new Victim(child, lines, JSON.parse(line) as Record<string, unknown>)
  }

  async ask(command: object): Promise<unknown> {
    this.assertAlive()
    this.#child.stdin?.write(`${JSON.stringify(command)}\n`)
    const [line] = (await once(this.#lines, 'line')) as [string]
    return JSON.parse(line)
  }

  /** @throws with the last output of the process, if it has ended */
  assertAlive(): void {
    if (this.#exit !== undefined) throw new Error(`the process under attack has ended (${this.#exit}):\n${this.#said}`)
  }

  get log(): string {
    return this.#said
  }

  async descriptors(): Promise<number> {
    this.assertAlive()
    return (await readdir(`/proc/${this.#child.pid}/fd`)).length
  }

  async residentBytes(): Promise<number> {
    this.assertAlive()
    const status = await readFile(`/proc/${this.#child.pid}/status`, 'utf8')
    return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) * 1024
  }

  async [Symbol.asyncDispose]() {
    if (this.#exit !== undefined) return
    const gone = once(this.#child, 'exit')
    this.#child.kill('SIGKILL')
    await gone
  }
}
