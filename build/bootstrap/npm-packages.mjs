import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

/**
 * Runs `npm ci` unless the installed packages are those of package-lock.json. npm writes its own record of what it installed as
 * its last act, so an interrupted installation is repeated.
 *
 * @param {string} root the clone
 */
export async function ensurePackages(root) {
  const wanted = readLock(join(root, 'package-lock.json'))
  if (wanted === undefined) throw new Error('package-lock.json is missing or damaged: restore it with git.')
  if (isInstalled(wanted, readLock(join(root, 'node_modules', '.package-lock.json')))) return

  const started = Date.now()
  process.stderr.write('· npm packages: installing (about a minute)\n')
  // npm_execpath: the npm that runs us; dev packages are needed whatever NODE_ENV says, to build the console.
  const npm = process.env.npm_execpath
  const args = ['ci', '--include=dev', '--include=optional', '--no-audit', '--no-fund', '--loglevel=error']
  await run(
    npm === undefined ? (process.platform === 'win32' ? 'npm.cmd' : 'npm') : process.execPath,
    npm === undefined ? args : [npm, ...args],
    root,
  )
  process.stderr.write(`✓ npm packages: installed (${((Date.now() - started) / 1000).toFixed(1)} s)\n`)
}

/**
 * Do the packages on disk agree with the lock file?
 *
 * @param {Record<string, LockEntry>} wanted `packages` of package-lock.json
 * @param {Record<string, LockEntry> | undefined} installed `packages` of node_modules/.package-lock.json, if it is there
 * @typedef {{ version?: string, integrity?: string, link?: boolean, optional?: boolean, devOptional?: boolean, os?: string[], cpu?: string[] }} LockEntry
 */
export function isInstalled(wanted, installed) {
  if (installed === undefined) return false
  const same = (a, b) => a.version === b.version && a.integrity === b.integrity
  const nothingForeign = Object.entries(installed).every(([path, entry]) => path in wanted && same(wanted[path], entry))
  const nothingMissing = Object.entries(wanted).every(
    ([path, entry]) => path === '' || path in installed || mayBeAbsent(path, entry),
  )
  return nothingForeign && nothingMissing
}

/**
 * Packages of other platforms are optional and stay away. npm also ignores, silently, a failure to fetch one of them; the
 * pinned Node must not be missing.
 */
function mayBeAbsent(path, entry) {
  if (
    /^node_modules\/node-(linux|win)-/.test(path) &&
    entry.os?.includes(process.platform) &&
    entry.cpu?.includes(process.arch)
  )
    return false
  return entry.optional === true || entry.devOptional === true || entry.link === true
}

function readLock(path) {
  try {
    return JSON.parse(readFileSync(path, 'utf8')).packages
  } catch {
    return undefined
  }
}

function run(command, args, cwd) {
  return new Promise((resolve, reject) => {
    // Standard output belongs to `--json`.
    const child = spawn(command, args, { cwd, stdio: ['ignore', 2, 2], shell: process.platform === 'win32' })
    // However we are stopped, npm stops with us: two of them in one folder would spoil it.
    let stopped = false
    const stop = signal => {
      stopped = true
      child.kill(signal)
    }
    const signals = ['SIGINT', 'SIGTERM', 'SIGHUP']
    for (const name of signals) process.on(name, stop)
    child.on('error', error => reject(new Error(`npm could not be started: ${error.message}`)))
    child.on('exit', code => {
      for (const name of signals) process.off(name, stop)
      if (code === 0) resolve()
      else if (stopped) reject(new Error('interrupted; the next start installs the packages again.'))
      else
        reject(
          new Error('npm ci failed; its own words are above. Nothing else was changed: repeat when the cause is gone.'),
        )
    })
  })
}
