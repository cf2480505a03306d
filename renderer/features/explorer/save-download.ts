import { type FilesClient } from './files-client.ts'

interface SavePicker {
  showSaveFilePicker?: (options: { suggestedName: string }) => Promise<FileSystemFileHandle>
}

/** Downloads up to this size are kept in memory until the browser has saved them. */
const SMALL_BYTES = 64 * 1024 * 1024

/**
 * Saves files to the computer. The sign-in needs a header that a link cannot carry, so the page fetches the bytes: large downloads
 * are written to the chosen file as they arrive, where the browser can do that, and nothing of them is kept in memory.
 * @param sizeBytes undefined if it is not known, as for directories
 */
export async function saveDownload(
  client: FilesClient,
  {
    paths,
    fileName,
    sizeBytes,
    isFile,
  }: { paths: readonly string[]; fileName: string; sizeBytes: number | undefined; isFile: boolean },
): Promise<void> {
  const { showSaveFilePicker } = globalThis as SavePicker
  if (showSaveFilePicker && (sizeBytes === undefined || sizeBytes > SMALL_BYTES)) {
    const handle = await showSaveFilePicker({ suggestedName: fileName }).catch((error: unknown) => {
      if (error instanceof DOMException && error.name === 'AbortError') return undefined
      throw error
    })
    if (!handle) return
    const response = await client.download(paths, isFile)
    await response.body?.pipeTo(await handle.createWritable())
    return
  }
  const url = URL.createObjectURL(await (await client.download(paths, isFile)).blob())
  const link = document.createElement('a')
  link.href = url
  link.download = fileName
  link.click()
  setTimeout(() => URL.revokeObjectURL(url), 60_000)
}
