import { defineStore } from 'pinia'
import { shallowRef } from 'vue'
import { type FolderId } from '#manager/contract'

export interface ClippedFiles {
  readonly folderId: FolderId
  readonly paths: readonly string[]
  readonly mode: 'copy' | 'move'
}

/** Files that were cut or copied in the explorer, until they are pasted. Keeps no content. */
export const useFileClipboard = defineStore('file-clipboard', () => {
  const clipped = shallowRef<ClippedFiles | null>(null)
  return {
    clipped,
    put: (files: ClippedFiles) => void (clipped.value = files),
    clear: () => void (clipped.value = null),
  }
})
