import { spawn } from 'node:child_process'
import { realpathSync } from 'node:fs'
import { constants } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { keepCompiledCode } from './compile-cache.mjs'
import { findNode } from './find-node.mjs'
import { endWithLauncher } from './follow-parent.mjs'
import { ensurePackages } from './npm-packages.mjs'

/** The clone that this file lies in. */
const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))))

/**
 * Makes sure of the npm packages, one of which is the pinned Node, and continues in TypeScript under that Node: in this process
 * when npm already chose it (it does, once the packages are there), else in a child.
 *
 * @param {string} entry file name beside this one
 */
export async function launch(entry) {
  endWithLauncher(process.env.npm_lifecycle_event !== undefined)
  const [major = 0] = process.versions.node.split('.').map(Number)
  if (major < 18)
    fail(
      `Node ${process.versions.node} is too old to install Berth; any Node from 18 on will do (it brings its own Node 24).`,
    )
  process.chdir(root)
  try {
    await ensurePackages(root)
  } catch (error) {
    fail(error instanceof Error ? error.message : String(error))
  }
  const node = findNode(root)
  if (node === undefined) {
    fail(
      'Berth needs Node 24 or newer, and there is no prebuilt one for this platform: install it from https://nodejs.org and repeat.',
    )
  }
  const script = join(root, 'build', 'bootstrap', entry)
  if (realpathSync(node) === realpathSync(process.execPath)) {
    process.argv[1] = script
    keepCompiledCode()
    await import(pathToFileURL(script).href)
    return
  }
  process.exitCode = await runInForeground(node, [script, ...process.argv.slice(2)])
}

/** Runs a child in our place: its streams are ours, signals reach it once, its exit code is ours. */
function runInForeground(command, args) {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { stdio: 'inherit', cwd: root })
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
      process.on(signal, () => {
        // A terminal sends Ctrl-C to the whole group: a second copy would count as impatience.
        if (signal !== 'SIGINT' || !process.stdin.isTTY) child.kill(signal)
      })
    }
    child.on('error', reject)
    child.on('exit', (code, signal) => resolve(signal === null ? code : 128 + constants.signals[signal]))
  })
}

/** @returns {never} */
function fail(message) {
  process.stderr.write(`✗ ${message}\n`)
  process.exit(1)
}
