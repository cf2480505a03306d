import { execFile } from 'node:child_process'
import { extname, resolve } from 'node:path'
import { type Diagnosis, parseDiagnosis } from '#manager/contract'

/** Time limit of the whole run; each check of the doctor has a shorter one. */
const WITHIN_MS = 30_000

/**
 * Runs `berth doctor` for this manager as a separate process: it may hang on a disk or a database, and is then killed. @param data data
 * directory of this manager @throws AppError `internal` if it gave no result in time
 */
export async function runDoctor(data: string, managerUrl: string): Promise<Diagnosis> {
  const program = resolve(import.meta.dirname, `../../cli/main${extname(import.meta.filename)}`)
  const about = ['--of', 'manager', '--manager-url', managerUrl]
  const args = ['--disable-warning=ExperimentalWarning', program, 'doctor', '--json', '--data', data, ...about]
  const { error, stdout } = await new Promise<{ error: Error | null; stdout: string }>(done => {
    execFile(process.execPath, args, { timeout: WITHIN_MS, killSignal: 'SIGKILL' }, (error, stdout) =>
      done({ error, stdout }),
    )
  })
  return parseDiagnosis(stdout, error)
}
