import vue from '@vitejs/plugin-vue'
import { defineConfig } from 'vitest/config'

/**
 * Real engines, databases and browsers are shared things: those projects run one file at a time, and what fails gets one more
 * chance. `npm test` names in its last lines who needed it: that is a fault as well.
 */
const serial = { fileParallelism: false, testTimeout: 120_000, hookTimeout: 180_000, retry: 1 }

export default defineConfig({
  plugins: [vue()],
  resolve: {
    // Importing the real package outside Electron starts a download of its binary.
    alias: { electron: new URL('./test/fixtures/electron-stub.ts', import.meta.url).pathname },
  },
  test: {
    projects: [
      {
        extends: true,
        test: {
          name: 'unit',
          include: ['{agent,build,cli,electron,manager,proxy}/**/*.test.ts', 'renderer/**/*.test.ts'],
          testTimeout: 20_000,
          server: { deps: { inline: ['vuetify'] } },
        },
      },
      { extends: true, test: { name: 'integration', include: ['test/integration/**/*.test.ts'], ...serial } },
      { extends: true, test: { name: 'e2e', include: ['test/e2e/**/*.test.ts'], ...serial } },
      { extends: true, test: { name: 'chaos', include: ['test/chaos/**/*.test.ts'], ...serial } },
    ],
  },
})
