import { execFile } from 'node:child_process'
import { promisify } from 'node:util'

const run = promisify(execFile)
const START_MS = 30_000

/** Starts a command as a unit of its own, which outlives this agent. @throws with the words of systemd */
export type StartUnit = (name: string, words: readonly string[]) => Promise<unknown>

export const startUnit: StartUnit = (name, words) =>
  run('systemd-run', [`--unit=${name}`, '--collect', '--quiet', '--', ...words], { timeout: START_MS })
