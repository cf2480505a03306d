import { readFileSync } from 'node:fs'
import { type Plugin } from 'vite'

const LINK = /href="[^"]*\/icon\.svg"/

/**
 * Puts the icon into the built page. Chromium looks for the icon again when the address changes after the load, as it does
 * for everybody whom the page leads to the sign-in: as a file the icon is requested twice.
 * @param file of the icon, an SVG
 */
export function iconInPage(file: string): Plugin {
  return {
    name: 'berth:icon-in-page',
    apply: 'build',
    transformIndexHtml: {
      order: 'post',
      handler(html) {
        if (!LINK.test(html)) throw new Error('index.html has no link to /icon.svg')
        const svg = readFileSync(file, 'utf8').replaceAll(/\s+/g, ' ').replaceAll('> <', '><').trim()
        return html.replace(LINK, () => `href="data:image/svg+xml,${encodeURIComponent(svg)}"`)
      },
    },
  }
}
