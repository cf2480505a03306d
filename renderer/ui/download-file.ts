/** Passes a text or bytes to the browser as a download; the page does not keep them. */
export function downloadFile({
  fileName,
  mediaType,
  content,
}: {
  readonly fileName: string
  readonly mediaType: string
  /** The text, or the parts in order. */
  readonly content: string | readonly BlobPart[]
}): void {
  const url = URL.createObjectURL(new Blob(typeof content === 'string' ? [content] : [...content], { type: mediaType }))
  const link = document.createElement('a')
  link.href = url
  link.download = fileName
  link.click()
  // The browser has used the URL with the click. Keeping the URL would keep the content, perhaps a key, in memory.
  setTimeout(() => URL.revokeObjectURL(url), 10_000)
}
