import { defineConfig } from 'vitest/config'
import { LongestFirst } from './build/bootstrap/longest-first.ts'
import { CONSOLE_WORKERS, ENGINE_WORKERS, INTEGRATION_WORKERS } from './build/bootstrap/test-parts.ts'
import { leftOut, testSet } from './build/bootstrap/test-sets.ts'
import { pageTemplates } from './build/vite-templates.ts'
import { compiledWords } from './build/vite-words.ts'

/**
 * A worker evaluates each module once, not once for each file: a third of the CPU time. So a test undoes what it changes in
 * its process: environment, listeners, spies, fake timers.
 */
const shared = { isolate: false }

/**
 * A condition in the process of the test costs nothing to check. The limit allows for a machine that is three times slower than usual and runs
 * five other test files. It delays failures only: a condition that holds earlier ends the wait.
 */
const expectPoll = { timeout: 120_000, interval: 25 }

/**
 * Real databases, browsers and engines answer late on a busy machine: limits are generous, so a test sets none of its own, and a failed test gets one more
 * try. `npm test` names each test that needed it and fails when there are more than a few.
 */
const patient = {
  testTimeout: 600_000,
  hookTimeout: 600_000,
  retry: 1,
  // Each check is a request to a manager and its database, or to a page: twice as many cost a test up to a tenth of its processor seconds.
  expect: { poll: { ...expectPoll, interval: 50 } },
  setupFiles: ['test/fixtures/processor-seconds.ts'],
  exclude: leftOut(testSet(process.env)),
  ...shared,
}

/** Passwords of managers within the tests. */
const quickPasswords = {
  alias: { '@node-rs/argon2': new URL('./test/fixtures/quick-argon2.ts', import.meta.url).pathname },
}

/** These projects run one file at a time: a browser or an Electron needs most of what the machine has. */
const serial = { ...patient, fileParallelism: false }

/** Lets the files of a run copy one embedded database. */
const EMBEDDED_TEMPLATE = ['test/fixtures/embedded-template-folder.ts']

/** Tests of the page against a stand-in of the manager. */
const CONSOLE_TESTS = 'test/e2e/console-*.test.ts'

export default defineConfig({
  plugins: [pageTemplates(), compiledWords()],
  resolve: {
    // Importing the real package outside Electron starts a download of its binary.
    alias: { electron: new URL('./test/fixtures/electron-stub.ts', import.meta.url).pathname },
  },
  test: {
    sequence: { sequencer: LongestFirst },
    coverage: {
      include: ['{agent,base,cli,electron,manager,proxy,renderer}/**/*.{ts,vue}'],
      exclude: ['**/*.test.ts', '**/contract/routes/**'],
    },
    projects: [
      {
        extends: true,
        test: {
          name: 'unit',
          include: ['{agent,base,build,cli,electron,manager,proxy}/**/*.test.ts', 'renderer/**/*.test.ts'],
          testTimeout: 180_000,
          expect: { poll: expectPoll },
          ...shared,
          server: { deps: { inline: ['vuetify'] } },
        },
      },
      {
        extends: true,
        resolve: quickPasswords,
        test: {
          name: 'integration',
          include: ['test/integration/**/*.test.ts'],
          globalSetup: EMBEDDED_TEMPLATE,
          ...patient,
          maxWorkers: INTEGRATION_WORKERS,
          // Projects with a number of workers of their own run by themselves.
          sequence: { groupOrder: 1 },
        },
      },
      {
        extends: true,
        resolve: quickPasswords,
        test: {
          name: 'engine',
          include: ['test/engine/**/*.test.ts'],
          globalSetup: EMBEDDED_TEMPLATE,
          ...patient,
          maxWorkers: ENGINE_WORKERS,
          sequence: { groupOrder: 3 },
        },
      },
      {
        extends: true,
        test: {
          name: 'e2e',
          include: ['test/e2e/**/*.test.ts'],
          globalSetup: EMBEDDED_TEMPLATE,
          ...serial,
          exclude: [CONSOLE_TESTS, ...serial.exclude],
          maxConcurrency: 3,
        },
      },
      {
        extends: true,
        test: {
          name: 'console',
          include: [CONSOLE_TESTS],
          ...patient,
          maxConcurrency: 2,
          maxWorkers: CONSOLE_WORKERS,
          sequence: { groupOrder: 2 },
        },
      },
      { extends: true, test: { name: 'desktop', include: ['test/desktop/**/*.test.ts'], ...serial } },
      {
        extends: true,
        test: { name: 'packages', include: ['test/packages/**/*.test.ts'], ...serial, retry: 0, testTimeout: 600_000 },
      },
      {
        extends: true,
        test: { name: 'images', include: ['test/images/**/*.test.ts'], ...serial, retry: 0, testTimeout: 3_600_000 },
      },
      { extends: true, test: { name: 'chaos', include: ['test/chaos/**/*.test.ts'], ...serial, isolate: true } },
    ],
  },
})
