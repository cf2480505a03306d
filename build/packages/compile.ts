import { relative, resolve } from 'node:path'
import { build } from 'vite'
import { ROOT } from '../bootstrap/image-recipes.ts'

/** Files of programs and threads that a package starts by path, besides `bin/berth` (`cli/program-file.ts`). */
const ENTRIES = [
  'cli/main.ts',
  'cli/stdio.ts',
  'manager/main.ts',
  'manager/backup/main.ts',
  'manager/secrets/main.ts',
  'manager/storage/batch-worker.ts',
  'agent/main.ts',
  'proxy/web/main.ts',
  'build/bootstrap/make-image.ts',
  'build/host/make-bundle.ts',
]

/**
 * Compiles servers and command line to JavaScript, because Node strips no types below `node_modules`. Each source file becomes one file at
 * the same place of the tree: paths that are relative to a file stay right, and a stack trace names the source. Only what the entries reach
 * is written, so no tests and build tools get into a package. npm packages are not bundled.
 *
 * @param outDir folder that gets `cli/`, `manager/`, …; its content is replaced
 */
export async function compileServers(outDir: string): Promise<void> {
  await build({
    root: ROOT,
    configFile: false,
    logLevel: 'warn',
    publicDir: false,
    build: {
      ssr: true,
      target: 'node24',
      outDir,
      emptyOutDir: true,
      minify: false,
      sourcemap: false,
      rolldownOptions: {
        input: ENTRIES.map(entry => resolve(ROOT, entry)),
        external: id => !id.startsWith('.') && !id.startsWith('/') && !id.startsWith('#'),
        output: {
          format: 'es',
          preserveModules: true,
          preserveModulesRoot: ROOT,
          entryFileNames: ({ facadeModuleId, name }) =>
            facadeModuleId === null ? `${name}.js` : relative(ROOT, facadeModuleId).replace(/\.m?ts$/, '.js'),
        },
      },
    },
  })
}
