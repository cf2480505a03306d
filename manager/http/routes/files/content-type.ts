/** Types that a browser may show. Every text is sent as plain text, so that a page of a user cannot act as a page of ours. */
const SHOWN: Readonly<Record<string, string>> = {
  avif: 'image/avif',
  bmp: 'image/bmp',
  gif: 'image/gif',
  ico: 'image/x-icon',
  jpeg: 'image/jpeg',
  jpg: 'image/jpeg',
  png: 'image/png',
  svg: 'image/svg+xml',
  webp: 'image/webp',
  pdf: 'application/pdf',
  flac: 'audio/flac',
  m4a: 'audio/mp4',
  mp3: 'audio/mpeg',
  oga: 'audio/ogg',
  ogg: 'audio/ogg',
  wav: 'audio/wav',
  m4v: 'video/mp4',
  mp4: 'video/mp4',
  ogv: 'video/ogg',
  webm: 'video/webm',
}
const TEXT =
  /^(bash|c|cc|cfg|conf|cpp|cs|css|csv|cu|cxx|diff|env|go|gradle|h|hpp|htm|html|ini|ipynb|java|jl|js|json|jsonl|jsx|kt|lock|log|lua|m|md|mjs|patch|php|pl|properties|proto|ps1|py|pyi|r|rb|rmd|rs|rst|scala|sh|sql|swift|tex|toml|ts|tsv|tsx|txt|vue|xhtml|xml|yaml|yml|zsh)$/

/** Content type for showing a file of this name; for all other files, a type that makes the browser save them. */
export function shownType(name: string): string {
  const ending = /\.([^.]+)$/.exec(name)?.[1]?.toLowerCase()
  if (ending === undefined) return 'application/octet-stream'
  return SHOWN[ending] ?? (TEXT.test(ending) ? 'text/plain; charset=utf-8' : 'application/octet-stream')
}

/** Header that makes browsers save a file under its name. @see RFC 6266, RFC 8187 */
export function attachment(name: string): string {
  const plain = name.replace(/[^\x20-\x7e]|["\\%]/g, '_')
  const encoded = encodeURIComponent(name.toWellFormed()).replace(
    /['()*]/g,
    char => `%${char.charCodeAt(0).toString(16).toUpperCase()}`,
  )
  return `attachment; filename="${plain}"; filename*=UTF-8''${encoded}`
}
