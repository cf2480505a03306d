/** Counts what is open at a time, by keys such as a person. */
export interface OpenCounts {
  /** Takes a place. @returns gives it back, once; undefined if so many are taken */
  take(key: string, most: number): (() => void) | undefined
  /** Places that are taken, of all keys together. */
  readonly size: number
}

export function createOpenCounts(): OpenCounts {
  const counts = new Map<string, number>()
  let size = 0
  return {
    get size() {
      return size
    },
    take(key, most) {
      const count = counts.get(key) ?? 0
      if (count >= most) return undefined
      counts.set(key, count + 1)
      size++
      let isOver = false
      return () => {
        if (isOver) return
        isOver = true
        size--
        const left = (counts.get(key) ?? 1) - 1
        if (left > 0) counts.set(key, left)
        else counts.delete(key)
      }
    },
  }
}
