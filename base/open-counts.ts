/** Counts things that are open at the same time, such as streams, by keys such as a person. */
export interface OpenCounts {
  /** Counts one more for this key. @returns a function that ends this count, once; undefined if `most` are open already */
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
