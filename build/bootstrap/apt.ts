import { runCommand } from './command.ts'
import { StepError, type Note } from './progress.ts'

/** Options of apt-get. It waits 900 s for dpkg's lock: another apt may be running (unattended upgrades on a fresh machine). */
const OPTIONS = [
  '-y',
  '--no-install-recommends',
  '-q',
  '-o',
  'DPkg::Lock::Timeout=900',
  '-o',
  'Dpkg::Options::=--force-confold',
]
const QUIET = { ...process.env, DEBIAN_FRONTEND: 'noninteractive', NEEDRESTART_MODE: 'a', LC_ALL: 'C.UTF-8' }
const LIST_RETRIES = 60

/** Names of these Debian packages that are not installed. */
export async function missingPackages(names: readonly string[]): Promise<string[]> {
  // dpkg-query fails if it does not know one of the packages, but prints the others.
  const known = await runCommand('dpkg-query', ['-W', '-f', '${Package} ${db:Status-Status}\\n', ...names], {
    env: QUIET,
  }).catch((error: unknown) => (error instanceof StepError ? (error.hint ?? '') : Promise.reject(error as Error)))
  const installed = new Set(
    known
      .split('\n')
      .filter(line => line.endsWith(' installed'))
      .map(line => line.split(' ')[0]),
  )
  return names.filter(name => !installed.has(name))
}

/**
 * Installs Debian packages as root. The download can be interrupted; unpacking and configuring is not, since an interrupted
 * dpkg leaves a system that the user would have to repair. An earlier interrupted dpkg run is repaired first.
 */
export async function installPackages(names: readonly string[], note: Note, signal: AbortSignal): Promise<void> {
  const download = () =>
    runCommand('apt-get', ['install', '--download-only', ...OPTIONS, ...names], { env: QUIET, note, signal })
  try {
    await download()
  } catch (error) {
    signal.throwIfAborted()
    if (!(error instanceof StepError)) throw error
    await updateLists(note, signal)
    await download()
  }
  const broken = await runCommand('dpkg', ['--audit'], { env: QUIET })
  if (broken.trim() !== '') await runCommand('dpkg', ['--configure', '-a'], { env: QUIET, note, indivisible: true })
  signal.throwIfAborted()
  await runCommand('apt-get', ['install', ...OPTIONS, ...names], { env: QUIET, note, indivisible: true })
}

/** Updates the package lists. Their lock is not covered by DPkg::Lock::Timeout, hence the retries. */
async function updateLists(note: Note, signal: AbortSignal): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      await runCommand('apt-get', ['update', '-q'], { env: QUIET, note, signal })
      return
    } catch (error) {
      if (
        !(error instanceof StepError) ||
        attempt === LIST_RETRIES ||
        error.hint?.includes('Could not get lock') !== true
      )
        throw error
      note('another apt is at work: waiting')
      await new Promise(resolve => setTimeout(resolve, 2_000))
      signal.throwIfAborted()
    }
  }
}
