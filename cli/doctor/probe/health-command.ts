import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { z } from 'zod'
import { lastLines } from '#agent/contract'
import { parseJson } from '#base/parse-json'
import { within } from '#base/within'
import { type Facts } from '../facts.ts'

const run = promisify(execFile)
const Words = z.tuple([z.string()], z.string())
/** Time limit of the agent, unless it is set. */
const USUAL_S = 10
/** Time that a killed command has to end: one that waits for a broken driver cannot be killed. */
const GRACE_MS = 2_000
const MOST_OUTPUT = 64 * 2 ** 20

/** Runs the health command of the agent. @param command JSON list of words @returns undefined without a command that the agent would accept */
export async function probeHealth(command: string | undefined, seconds: string | undefined): Promise<Facts['health']> {
  const words = Words.safeParse(parseJson(command ?? ''))
  if (!words.success) return undefined
  const [program, ...args] = words.data
  const timeoutS = Number(seconds ?? USUAL_S) || USUAL_S
  // The agent runs it in the same way.
  const { PATH, HOME = '/' } = process.env
  const options = { cwd: '/', env: { PATH, HOME, LANG: 'C.UTF-8' }, maxBuffer: MOST_OUTPUT }
  const late = () => Object.assign(new Error('no result'), { killed: true })
  try {
    const ended = run(program, args, { ...options, timeout: timeoutS * 1000, killSignal: 'SIGKILL' })
    await within(timeoutS * 1000 + GRACE_MS, ended, late)
    return { program, failure: undefined }
  } catch (error) {
    const said = error as { stdout?: string; stderr?: string; message?: string; killed?: boolean }
    const output = lastLines(`${said.stdout ?? ''}\n${said.stderr ?? ''}`)
    const slow = said.killed ? `no result within ${timeoutS} s` : undefined
    return { program, failure: [slow, output].filter(Boolean).join(': ') || (lastLines(said.message ?? '') ?? '–') }
  }
}
