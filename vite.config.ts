import { fileURLToPath } from 'node:url'
import vue from '@vitejs/plugin-vue'
import { defineConfig } from 'vite'
import vuetify from 'vite-plugin-vuetify'
import { compressedCopies } from './build/vite-compress.ts'
import { contentSecurityPolicy } from './build/vite-csp.ts'
import { plainRoutes } from './build/vite-plain-routes.ts'
import { quietHints } from './build/vite-quiet-hints.ts'
import { usedUtilities } from './build/vite-used-utilities.ts'

const SOURCES = fileURLToPath(new URL('renderer', import.meta.url))

/** Components of the sign-in, and of every page after it: one file each instead of one per component. */
const FIRST_COMPONENTS =
  'VApp|VMain|VBtn|VBtnGroup|VIcon|VTextField|VField|VInput|VMessages|VLabel|VCounter|VAlert|VCard|VAvatar|VImg|VResponsive|' +
  'VProgressCircular|VProgressLinear|VDefaultsProvider|VSelectionControl|VSelectionControlGroup|transitions'
const SHELL_COMPONENTS =
  'VAppBar|VToolbar|VNavigationDrawer|VMenu|VOverlay|VList|VDivider|VDialog|VTooltip|VSelect|VCheckbox|' +
  'VChip|VTabs|VSlideGroup|VVirtualScroll|VGrid'
const ofVuetify = (components: string, folders = 'none') =>
  new RegExp(`node_modules/vuetify/lib/(?:(?:${folders})/|components/(?:${components})/)`)
/** Small modules that the sign-in shares with other pages. */
const FIRST_MODULES =
  /renderer[\\/](?:ui[\\/](?:error-text|focus|useNow|PasswordField|BerthMark|format)|features[\\/](?:account[\\/](?:use|SignInForm|AccountFrame|EmailField|CodeField|throttle)))/

/** The console page. `npx vite` serves it for development (the proxy forwards to it), `npm run build` bundles it. */
export default defineConfig({
  root: 'renderer',
  // Relative, so that the same files work below a web server and inside the desktop app.
  base: './',
  plugins: [
    vue(),
    vuetify({ autoImport: true }),
    contentSecurityPolicy(),
    quietHints(),
    plainRoutes(),
    usedUtilities(SOURCES),
    compressedCopies(),
  ],
  build: {
    outDir: '../dist/renderer',
    emptyOutDir: true,
    manifest: true,
    target: 'es2022',
    // A preload polyfill would be an inline script in all but name; every browser we support has modulepreload.
    modulePreload: { polyfill: false },
    rolldownOptions: {
      treeshake: {
        // Schemas and tables are made by calls that do nothing else; what the page does not use of them is left out.
        moduleSideEffects: [{ test: /[\\/]contract[\\/]/, sideEffects: false }],
        manualPureFunctions: ['z'],
      },
      output: {
        codeSplitting: {
          groups: [
            { name: 'vue', test: /node_modules[\\/](@vue|vue|vue-router|pinia)[\\/]/, priority: 3 },
            { name: 'vocabulary', test: /node_modules[\\/]zod[\\/]|[\\/]contract[\\/]/, priority: 2 },
            {
              name: 'vuetify',
              test: ofVuetify(FIRST_COMPONENTS, 'composables|util|directives|iconsets|locale'),
              priority: 2,
            },
            { name: 'shell', test: ofVuetify(SHELL_COMPONENTS), priority: 2 },
            { name: 'account', test: FIRST_MODULES, priority: 1 },
          ],
        },
      },
    },
  },
  server: { host: '127.0.0.1', port: 0, strictPort: false },
})
