import { type Plugin } from 'vite'

/**
 * Restricts the page to loading its own files. Vuetify writes its theme into a style element and components set style
 * attributes, hence the two `unsafe-inline` for styles; scripts have none. `blob:` shows images, sound, videos and PDF files of
 * folders, whose bytes the page fetched itself. Forms are handled by scripts and never sent by the browser.
 */
export const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src-elem 'self' 'unsafe-inline'",
  "style-src-attr 'unsafe-inline'",
  "img-src 'self' data: blob:",
  'media-src blob:',
  'frame-src blob:',
  "font-src 'self'",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
].join('; ')

/** Puts the policy into the built page, so that it applies whichever server sends the files. Not in development: HMR needs more. */
export function contentSecurityPolicy(): Plugin {
  return {
    name: 'berth:content-security-policy',
    apply: 'build',
    transformIndexHtml: {
      order: 'post',
      handler: () => [
        {
          tag: 'meta',
          attrs: { 'http-equiv': 'Content-Security-Policy', content: CONTENT_SECURITY_POLICY },
          injectTo: 'head-prepend',
        },
      ],
    },
  }
}
