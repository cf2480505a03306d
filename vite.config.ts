import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vite'
import vuetify from 'vite-plugin-vuetify'
import { pageFiles } from './build/page-files.ts'
import { compressedCopies } from './build/vite-compress.ts'
import { contentSecurityPolicy } from './build/vite-csp.ts'
import { iconInPage } from './build/vite-icon.ts'
import { licencesInPage } from './build/vite-licences.ts'
import { inlineIcons } from './build/vite-inline-icons.ts'
import { plainRoutes } from './build/vite-plain-routes.ts'
import { pureContracts } from './build/vite-pure-contracts.ts'
import { quietHints } from './build/vite-quiet-hints.ts'
import { usedUtilities } from './build/vite-used-utilities.ts'
import { withoutDates } from './build/vite-without-dates.ts'
import { pageTemplates } from './build/vite-templates.ts'
import { compiledWords } from './build/vite-words.ts'

const { version: VERSION } = JSON.parse(readFileSync(new URL('package.json', import.meta.url), 'utf8')) as {
  version: string
}
const SOURCES = fileURLToPath(new URL('renderer', import.meta.url))

/** The console page. `npx vite` serves it for development (the proxy forwards to it), `npm run build` bundles it. */
export default defineConfig({
  root: 'renderer',
  // Relative, so that the same files work below a web server and inside the desktop app.
  base: './',
  plugins: [
    pageTemplates(),
    compiledWords(),
    vuetify({ autoImport: true }),
    contentSecurityPolicy(),
    iconInPage(`${SOURCES}/public/icon.svg`),
    quietHints(),
    plainRoutes(),
    pureContracts(),
    inlineIcons(),
    licencesInPage(),
    usedUtilities(SOURCES),
    withoutDates(),
    compressedCopies(),
  ],
  // vue-i18n without its message compiler: messages are compiled by the build (build/compile-message.ts).
  resolve: { alias: { 'vue-i18n': 'vue-i18n/dist/vue-i18n.runtime.mjs' } },
  define: {
    __BERTH_VERSION__: JSON.stringify(VERSION),
    __VUE_I18N_FULL_INSTALL__: false,
    __VUE_I18N_LEGACY_API__: false,
    __INTLIFY_DROP_MESSAGE_COMPILER__: true,
    __INTLIFY_PROD_DEVTOOLS__: false,
  },
  build: {
    outDir: '../dist/renderer',
    emptyOutDir: true,
    manifest: true,
    target: 'es2022',
    // A preload polyfill would be an inline script in all but name; every browser we support has modulepreload.
    modulePreload: { polyfill: false },
    rolldownOptions: {
      treeshake: {
        // Contracts do nothing but define: what the page does not use of them is left out (build/vite-pure-contracts.ts).
        moduleSideEffects: [{ test: /[\\/]contract[\\/]/, sideEffects: false }],
      },
      output: {
        codeSplitting: {
          groups: [
            // Changes with its version only: browsers keep it when Berth is updated.
            { name: 'vue', test: /node_modules[\\/](@vue|vue|vue-router|pinia)[\\/]/, priority: 2 },
            { name: pageFiles(SOURCES), debugName: 'parts of the page', priority: 1 },
          ],
        },
      },
    },
  },
  server: { host: '127.0.0.1', port: 0, strictPort: false },
})
