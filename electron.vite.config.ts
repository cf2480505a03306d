import { defineConfig } from 'electron-vite'

/**
 * The desktop host: main process as ES modules, preload as one CommonJS file (a sandboxed preload can load nothing else).
 * The page is not built here: it is the same `dist/renderer` that browsers get (`vite.config.ts`).
 */
export default defineConfig({
  main: {
    build: {
      outDir: 'dist/electron/main',
      target: 'node24',
      lib: { entry: 'electron/main/main.ts', formats: ['es'], fileName: () => 'main.js' },
      rolldownOptions: {
        external: [/^node:/, 'electron', /^@napi-rs\/keyring/, 'ssh2', 'ws', 'bufferutil', 'pino'],
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
