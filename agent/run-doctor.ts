import { execFile } from 'node:child_process'
import { extname, resolve } from 'node:path'
import { AppError, Diagnosis, parseJson } from '#manager/contract'

/** Every look of the doctor has a limit of its own, which is shorter. */
const WITHIN_MS = 30_000

/**
 * `berth doctor` for this agent, as a process of its own: it may hang on a driver or a disk, and is killed then.
 *
 * @param data data directory of this computer
 * @throws AppError `internal` if it gave no result in time
 */
export function runDoctor(data: string, managerUrl: string | undefined): Promise<Diagnosis> {
  const program = resolve(import.meta.dirname, `../cli/main${extname(import.meta.filename)}`)
  const about = ['--of', 'agent', ...(managerUrl === undefined ? [] : ['--manager-url', managerUrl])]
  const args = ['--disable-warning=ExperimentalWarning', program, 'doctor', '--json', '--data', data, ...about]
  return new Promise((done, fail) => {
    execFile(process.execPath, args, { timeout: WITHIN_MS, killSignal: 'SIGKILL' }, (error, stdout) => {
      // With problems found, the doctor ends with a code other than 0, and prints them all the same.
      const diagnosis = Diagnosis.safeParse(parseJson(stdout))
      if (diagnosis.success) done(diagnosis.data)
      else fail(new AppError('internal', { why: 'berth doctor gave no result.' }, { cause: error }))
    })
  })
}
