import { cp, mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { build } from 'vite'
import { ROOT } from '../bootstrap/image-recipes.ts'

/**
 * Writes the desktop app as a folder for the Electron of the tests: the sources of the main process, unchanged, as one CommonJS file for
 * its Node (`old-runtime.ts` lists the differences), the preload script as `npm run build` makes it, and the built page.
 */
export async function bundleForTestElectron(folder: string): Promise<void> {
  const main = join(folder, 'dist/electron/main')
  await mkdir(main, { recursive: true })
  await bundleMain(folder, main)
  await bundlePreload(join(folder, 'dist/electron/preload'))
  await copyPage(join(folder, 'dist/renderer'))
  const about = { name: 'berth', productName: 'Berth', version: '0.1.0', main: 'dist/electron/main/main.cjs' }
  await writeFile(join(folder, 'package.json'), JSON.stringify(about))
}

async function bundleMain(folder: string, outDir: string): Promise<void> {
  const entry = join(folder, 'entry.ts')
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
      outDir,
      rolldownOptions: {
        input: entry,
        external: ['electron', /^@napi-rs\/keyring/, 'bufferutil', 'utf-8-validate', 'cpu-features', /\.node$/],
        output: {
          format: 'cjs',
          entryFileNames: 'main.cjs',
          codeSplitting: false,
          // Electron's import() finds no package inside an archive; require() does.
          dynamicImportInCjs: false,
          banner: `const __fileUrl = require('node:url').pathToFileURL(__filename).href;`,
        },
      },
    },
  })
  await rm(entry)
}

async function bundlePreload(outDir: string): Promise<void> {
  await mkdir(outDir, { recursive: true })
  await build({
    configFile: false,
    root: ROOT,
    logLevel: 'error',
    build: {
      outDir,
      emptyOutDir: false,
      lib: { entry: join(ROOT, 'electron/preload/index.ts'), formats: ['cjs'], fileName: () => 'index.cjs' },
      rolldownOptions: { external: ['electron'] },
    },
  })
}

/** Copies the built page, and lets it load `old-javascript.ts` first. */
async function copyPage(page: string): Promise<void> {
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
}
