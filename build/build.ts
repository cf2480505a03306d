import { access } from 'node:fs/promises'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { fileURLToPath } from 'node:url'
import { build } from 'vite'

/**
 * Bundles what has to be bundled, into dist/: the console page for browsers and for the desktop app, and the desktop
 * app's own processes. Servers are not here: Node runs their TypeScript as it is.
 *
 *   node build/build.ts [renderer] [electron]     all of them if none is named
 */
const ROOT = fileURLToPath(new URL('..', import.meta.url))

const exists = (path: string) =>
  access(join(ROOT, path)).then(
    () => true,
    () => false,
  )

const parts = {
  async renderer() {
    await build({ root: join(ROOT, 'renderer'), configFile: join(ROOT, 'vite.config.ts'), logLevel: 'warn' })
    return 'dist/renderer'
  },
  async electron() {
    if (!(await exists('electron.vite.config.ts'))) return undefined
    const electronVite = await import('electron-vite')
    await electronVite.build({
      root: ROOT,
      configFile: join(ROOT, 'electron.vite.config.ts'),
      logLevel: 'warn',
      // The page is built on its own, so this configuration has no part for it.
      ignoreConfigWarning: true,
    })
    return 'dist/electron'
  },
} as const satisfies Record<string, () => Promise<string | undefined>>

const isPart = (name: string): name is keyof typeof parts => Object.hasOwn(parts, name)

async function main(names: readonly string[]): Promise<void> {
  const unknown = names.filter(name => !isPart(name))
  if (unknown.length > 0) {
    console.error(`There is no part "${unknown.join('", "')}". Parts: ${Object.keys(parts).join(', ')}.`)
    process.exitCode = 2
    return
  }
  for (const name of names.length > 0 ? names.filter(isPart) : (Object.keys(parts) as (keyof typeof parts)[])) {
    const start = performance.now()
    const output = await parts[name]()
    if (output) console.log(`${name}: ${output} (${((performance.now() - start) / 1000).toFixed(1)} s)`)
  }
}

await main(process.argv.slice(2))
