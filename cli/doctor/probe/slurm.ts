import { execFile } from 'node:child_process'
import { glob, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { defined } from '#base/defined'
import { LABEL_SLURM_JOB } from '#agent/contract'
import { type SlurmFacts } from '../facts.ts'

const run = promisify(execFile)
const TIMEOUT_MS = 5_000
/** A line of a script, and no comment, that names Berth's epilog as the guide calls it (docs/admin/slurm.md). */
const CALL = /^[^#\n]*berth-epilog/m

/** Asks Slurm for its settings. @param commands directory of Slurm's commands; undefined: they are found by PATH */
export async function probeSlurm(commands: string | undefined): Promise<SlurmFacts | undefined> {
  // Secrets in the environment of the process do not concern Slurm and its plugins.
  const { PATH, HOME, LD_LIBRARY_PATH, SLURM_CONF } = process.env
  const env = { ...defined({ PATH, HOME, LD_LIBRARY_PATH, SLURM_CONF }), LC_ALL: 'C' }
  const options = { timeout: TIMEOUT_MS, killSignal: 'SIGKILL' as const, env }
  const outputOf = (command: string, ...args: string[]) =>
    run(commands === undefined ? command : join(commands, command), args, options).then(
      ({ stdout }) => stdout,
      () => undefined,
    )
  const text = await outputOf('scontrol', 'show', 'config')
  if (text === undefined) return undefined
  const epilogs = valuesOf(text, 'Epilog')
  const hasHistory = valuesOf(text, 'AccountingStorageType').some(type => type.endsWith('/slurmdbd'))
  const scripts = await Promise.all(epilogs.map(readScripts))
  const read = scripts.flat()
  return {
    epilogs,
    hasOwn: read.length === 0 ? undefined : read.some(script => script.includes(LABEL_SLURM_JOB) || CALL.test(script)),
    // Jobs of this moment only: the answer is short.
    isHistoryThere: hasHistory
      ? (await outputOf('sacct', '-nPX', '-S', 'now', '-o', 'JobID')) !== undefined
      : undefined,
  }
}

/** `Epilog = a` of older versions, `Epilog[0] = a` of newer ones. */
const valuesOf = (text: string, name: string): string[] =>
  [...text.matchAll(new RegExp(`^${name}(?:\\[\\d+\\])?\\s*= (.*)$`, 'gm'))]
    .map(([, value = '']) => value.trim())
    .filter(value => value !== '' && value !== '(null)')

/** The scripts that a value of `Epilog` names, as far as they can be read here: it may be a pattern. */
async function readScripts(pattern: string): Promise<string[]> {
  const scripts: string[] = []
  for await (const path of glob(pattern)) {
    const script = await readFile(path, 'utf8').catch(() => undefined)
    if (script !== undefined) scripts.push(script)
  }
  return scripts
}
