/**
 * Lets the browser download from an address: it writes the bytes to the disk as they arrive, shows the progress, and continues after a lost
 * connection. The page itself holds no bytes.
 */
export function startDownload(address: string): void {
  const link = document.createElement('a')
  link.href = address
  // The server names the file; without this attribute an answer that is an error would replace the page.
  link.download = ''
  link.click()
}
