import { inOneForm } from '#base/normal-forms'
import { MOST_TAGS, SESSION_TAG } from '#manager/contract'

/** Reads tags that a person typed, separated by spaces or commas, with or without `#`. Each comes once. */
export function readTags(text: string): { readonly tags: string[]; readonly fault: 'form' | 'count' | null } {
  const words = inOneForm(text).split(/[\s,]+/u)
  const tags = [...new Set(words.map(word => word.replace(/^#/, '')).filter(Boolean))]
  if (!tags.every(tag => SESSION_TAG.test(tag))) return { tags, fault: 'form' }
  return { tags, fault: tags.length > MOST_TAGS ? 'count' : null }
}
