import { spawn } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** Time between two notes of progress: in a terminal, where a note replaces the one before, and in a log, where each note is a line. */
const EVERY_MS = { terminal: 1_000, log: 15_000 }

/**
 * Runs `npm ci` unless the installed packages are those of package-lock.json. npm writes its own record of what it installed as
 * its last act, so an interrupted installation is repeated.
 *
 * @param {string} root the clone
 * @param {{ say?: (text: string) => void, terminal?: boolean, everyMs?: number }} [shown]
 */
export async function ensurePackages(root, shown = {}) {
  const { say = text => process.stderr.write(text), terminal = process.stderr.isTTY === true } = shown
  const { everyMs = terminal ? EVERY_MS.terminal : EVERY_MS.log } = shown
  const wanted = readLock(join(root, 'package-lock.json'))
  if (wanted === undefined) throw new Error('package-lock.json is missing or damaged: restore it with git.')
  if (isInstalled(wanted, readLock(join(root, 'node_modules', '.package-lock.json')))) return

  const started = Date.now()
  const took = () => `${((Date.now() - started) / 1000).toFixed(1)} s`
  say('· npm packages: installing; one minute to five, by computer and network\n')
  // npm_execpath: the npm that runs us; dev packages are needed whatever NODE_ENV says, to build the console.
  const npm = process.env.npm_execpath
  const args = [
    'ci',
    '--include=dev',
    '--include=optional',
    '--no-audit',
    '--no-fund',
    '--no-progress',
    '--loglevel=error',
  ]
  const clear = terminal ? '\r\x1b[K' : ''
  const alive = setInterval(() => {
    say(`${clear}· npm packages: ${unpacked(root, wanted)} (${took()})${terminal ? '' : '\n'}`)
  }, everyMs)
  try {
    await run(
      npm === undefined ? (process.platform === 'win32' ? 'npm.cmd' : 'npm') : process.execPath,
      npm === undefined ? args : [npm, ...args],
      { cwd: root, say: text => say(`${clear}${text}`) },
    )
  } finally {
    clearInterval(alive)
    say(clear)
  }
  say(`✓ npm packages: installed (${took()})\n`)
}

/** How far npm is, by the packages that it has begun to unpack. Packages of other platforms never come, so the sum is not exact. */
function unpacked(root, wanted) {
  const paths = Object.keys(wanted).filter(path => path !== '' && !mayBeAbsent(path, wanted[path]))
  const there = paths.filter(path => existsSync(join(root, path, 'package.json')))
  return `${there.length} of ${paths.length} unpacked`
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

/** Standard output belongs to `--json`, so all that the command says goes to `say`. */
function run(command, args, { cwd, say }) {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { cwd, stdio: ['ignore', 'pipe', 'pipe'], shell: process.platform === 'win32' })
    for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', say)
    // However we are stopped, npm stops with us: two of them in one folder would spoil it.
    let stopped = false
    const stop = signal => {
      stopped = true
      child.kill(signal)
    }
    const signals = ['SIGINT', 'SIGTERM', 'SIGHUP']
    for (const name of signals) process.on(name, stop)
    child.on('error', error => reject(new Error(`npm could not be started: ${error.message}`)))
    child.on('close', code => {
      for (const name of signals) process.off(name, stop)
      if (code === 0) resolve()
      else if (stopped)
        reject(new Error('interrupted; the next start installs the packages again, with what npm has fetched already.'))
      else
        reject(
          new Error('npm ci failed; its own words are above. Nothing else was changed: repeat when the cause is gone.'),
        )
    })
  })
}
