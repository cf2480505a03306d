import { defineConfig } from 'electron-vite'

/**
 * The desktop host: main process as one ES module with its npm packages, preload as one CommonJS file (a sandboxed preload can load
 * nothing else). Native modules stay outside: the package of the app contains them beside the bundle.
 * The page is not built here: it is the same `dist/renderer` that browsers get (`vite.config.ts`).
 */
export default defineConfig({
  main: {
    build: {
      externalizeDeps: false,
      outDir: 'dist/electron/main',
      target: 'node24',
      lib: { entry: 'electron/main/main.ts', formats: ['es'], fileName: () => 'main.js' },
      rolldownOptions: {
        // The command line loads its network late; the app needs it in any case, in the same file.
        checks: { ineffectiveDynamicImport: false },
        external: [
          /^node:/,
          'electron',
          /^@napi-rs\/keyring/,
          'bufferutil',
          'utf-8-validate',
          'cpu-features',
          /\.node$/,
        ],
      },
    },
  },
  preload: {
    build: {
      externalizeDeps: false,
      outDir: 'dist/electron/preload',
      lib: { entry: 'electron/preload/index.ts', formats: ['cjs'], fileName: () => 'index.cjs' },
    },
  },
})
