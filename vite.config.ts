import vue from '@vitejs/plugin-vue'
import { defineConfig } from 'vite'
import vuetify from 'vite-plugin-vuetify'
import { compressedCopies } from './build/vite-compress.ts'
import { contentSecurityPolicy } from './build/vite-csp.ts'
import { quietHints } from './build/vite-quiet-hints.ts'

/** The console page. `npx vite` serves it for development (the proxy forwards to it), `npm run build` bundles it. */
export default defineConfig({
  root: 'renderer',
  // Relative, so that the same files work below a web server and inside the desktop app.
  base: './',
  plugins: [vue(), vuetify({ autoImport: true }), contentSecurityPolicy(), quietHints(), compressedCopies()],
  build: {
    outDir: '../dist/renderer',
    emptyOutDir: true,
    target: 'es2022',
    // A preload polyfill would be an inline script in all but name; every browser we support has modulepreload.
    modulePreload: { polyfill: false },
    rolldownOptions: {
      output: {
        codeSplitting: {
          groups: [
            { name: 'vue', test: /node_modules[\\/](@vue|vue|vue-router|pinia)[\\/]/, priority: 3 },
            { name: 'vocabulary', test: /node_modules[\\/]zod[\\/]|[\\/]contract[\\/]/, priority: 2 },
          ],
        },
      },
    },
  },
  server: { host: '127.0.0.1', port: 0, strictPort: false },
})
