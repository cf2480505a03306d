import DOMPurify from 'dompurify'
import MarkdownIt from 'markdown-it'
import { cutSlowBlocks } from './slow-lines.ts'

/**
 * HTML of files and announcements, for the console's own page.
 *
 * Threat model: anybody who may write into a folder can write this HTML, and it is shown to others with their sign-in. So it must not run,
 * load from elsewhere, cover the page, freeze it, or send a form: only tags and attributes for text, tables and pictures stay; no style, class
 * or id (spoofed dialogs, clobbered names), pictures only as data, links only to web and mail addresses and in a new tab. The page's content
 * security policy is a second protection.
 */
const purify = DOMPurify()
const TAGS =
  'a abbr b blockquote br caption code col colgroup dd del details div dl dt em h1 h2 h3 h4 h5 h6 hr i img ins kbd li mark ol p pre q s samp small span strong sub summary sup table tbody td tfoot th thead tr u ul var'.split(
    ' ',
  )
const ATTRIBUTES = ['href', 'src', 'alt', 'title', 'width', 'height', 'colspan', 'rowspan', 'scope', 'start', 'open']
const PICTURE = /^data:image\/(?:png|jpeg|gif|webp);base64,/i
const LINK = /^(?:https?|mailto):/i

purify.addHook('afterSanitizeAttributes', node => {
  if (node.tagName === 'IMG' && !PICTURE.test(node.getAttribute('src') ?? '')) node.removeAttribute('src')
  if (node.tagName !== 'A') return
  if (!LINK.test(node.getAttribute('href') ?? '')) node.removeAttribute('href')
  else {
    node.setAttribute('target', '_blank')
    node.setAttribute('rel', 'noopener noreferrer nofollow')
  }
})

export function safeHtml(html: string): string {
  const body = purify.sanitize(html, {
    ALLOWED_TAGS: TAGS,
    ALLOWED_ATTR: ATTRIBUTES,
    ALLOW_DATA_ATTR: false,
    ALLOW_ARIA_ATTR: false,
    RETURN_DOM: true,
  })
  // The page of a frameset has no body.
  if (!(body instanceof Element)) return ''
  cutSlowBlocks(body)
  return body.innerHTML
}

const markdown = new MarkdownIt({ html: true, linkify: true })
/** Renders Markdown, with the HTML in it, and cleans the result. */
export const markdownHtml = (text: string): string => safeHtml(markdown.render(text))

const plainMarkdown = new MarkdownIt({ html: false, linkify: true, breaks: true })
/** Renders Markdown of an administrator: HTML in it is shown as text, and line breaks are kept. */
export const plainMarkdownHtml = (text: string): string => safeHtml(plainMarkdown.render(text))
