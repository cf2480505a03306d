import { cp, mkdir, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { build } from 'vite'

const ROOT = resolve(import.meta.dirname, '../..')

/**
 * The desktop app as a folder for the Electron of the tests: the sources of the main process, unchanged, as one CommonJS file for its
 * Node (`old-runtime.ts` lists the differences), and the preload script as `npm run build` makes it.
 */
export function bundleApp(): Promise<string> {
  return (bundled ??= bundle())
}

let bundled: Promise<string> | undefined

async function bundle(): Promise<string> {
  const folder = join(ROOT, 'dist/desktop-test')
  const main = join(folder, 'dist/electron/main')
  const entry = join(folder, 'entry.ts')
  await mkdir(main, { recursive: true })
  const sources = [join(import.meta.dirname, 'old-runtime.ts'), join(ROOT, 'electron/main/main.ts')]
  await writeFile(entry, sources.map(file => `import ${JSON.stringify(file)}\n`).join(''))
  await build({
    configFile: false,
    root: ROOT,
    logLevel: 'error',
    ssr: { noExternal: true },
    define: {
      'import.meta.dirname': '__dirname',
      'import.meta.url': '__fileUrl',
      'import.meta.main': 'false',
    },
    build: {
      ssr: true,
      target: 'node18',
      outDir: main,
      rolldownOptions: {
        input: entry,
        external: ['electron', /^@napi-rs\/keyring/, 'bufferutil', 'utf-8-validate', 'cpu-features', /\.node$/],
        output: {
          format: 'cjs',
          entryFileNames: 'main.cjs',
          codeSplitting: false,
          banner: `const __fileUrl = require('node:url').pathToFileURL(__filename).href;`,
        },
      },
    },
  })
  await mkdir(join(folder, 'dist/electron/preload'), { recursive: true })
  await build({
    configFile: false,
    root: ROOT,
    logLevel: 'error',
    build: {
      outDir: join(folder, 'dist/electron/preload'),
      emptyOutDir: false,
      lib: { entry: join(ROOT, 'electron/preload/index.ts'), formats: ['cjs'], fileName: () => 'index.cjs' },
      rolldownOptions: { external: ['electron'] },
    },
  })
  const page = join(folder, 'dist/renderer')
  await rm(page, { recursive: true, force: true })
  await cp(join(ROOT, 'dist/renderer'), page, { recursive: true })
  await build({
    configFile: false,
    root: ROOT,
    logLevel: 'error',
    build: {
      outDir: page,
      emptyOutDir: false,
      lib: {
        entry: join(import.meta.dirname, 'old-javascript.ts'),
        name: 'old',
        formats: ['iife'],
        fileName: () => 'old.js',
      },
    },
  })
  const index = join(page, 'index.html')
  await writeFile(index, (await readFile(index, 'utf8')).replace('<head>', '<head><script src="/old.js"></script>'))
  // The services of this computer are started from the clone.
  await rm(join(folder, 'bin'), { recursive: true, force: true })
  await symlink(join(ROOT, 'bin'), join(folder, 'bin'))
  const about = { name: 'berth', productName: 'Berth', version: '0.1.0', main: 'dist/electron/main/main.cjs' }
  await writeFile(join(folder, 'package.json'), JSON.stringify(about))
  return folder
}
