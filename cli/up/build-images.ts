import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { programFile } from '../program-file.ts'
import { createLogFile } from './log-file.ts'

export interface BuildImagesOptions {
  /** Data directory; the log of the build is `logs/images.log` in it. */
  readonly directory: string
  readonly note: (text: string) => void
}

/** Images that `npm start` makes in a clone. */
const IMAGES = ['toolbox', 'python']

/**
 * Builds the toolbox and the first session image if the Docker Engine lacks them, beside the running servers. Takes milliseconds if
 * it has them, otherwise minutes. The program never installs a Docker Engine. A failed build stops nothing: the agent reports the
 * missing toolbox, and the next start tries again.
 *
 * @returns a handle that ends a build in progress
 */
export function buildImages({ directory, note }: BuildImagesOptions): AsyncDisposable {
  const log = `${directory}/logs/images.log`
  const child = spawn(
    process.execPath,
    ['--disable-warning=ExperimentalWarning', programFile('build/bootstrap/make-image'), ...IMAGES, '--no-install'],
    { stdio: ['ignore', 'pipe', 'pipe'], env: { ...process.env, BERTH_DATA: directory }, detached: true },
  )
  let stopping = false
  // If this process ends, the child ends too, because writing to the pipe fails.
  child.stderr.pipe(createLogFile(log))
  createInterface({ input: child.stdout }).on('line', tag => note(`The image ${tag} is ready.`))
  const ended = once(child, 'exit').then(
    ([code]) => {
      if (code !== 0 && code !== null && !stopping) {
        note(
          `The images of sessions could not be built; the log is ${log}. Try: berth admin image build toolbox python`,
        )
      }
    },
    (error: unknown) => note(`The images of sessions could not be built: ${String(error)}`),
  )
  return {
    async [Symbol.asyncDispose]() {
      stopping = true
      child.kill('SIGTERM')
      await ended
    },
  }
}
