/** Gives a text to the browser as a download; the page keeps nothing of it. */
export function downloadFile({
  fileName,
  mediaType,
  content,
}: {
  readonly fileName: string
  readonly mediaType: string
  readonly content: string
}): void {
  const url = URL.createObjectURL(new Blob([content], { type: mediaType }))
  const link = document.createElement('a')
  link.href = url
  link.download = fileName
  link.click()
  // The browser took the URL with the click. Keeping the URL would keep the text, perhaps a key, in memory.
  setTimeout(() => URL.revokeObjectURL(url), 10_000)
}
