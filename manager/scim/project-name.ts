import { isLikeId } from '#base/shapes'

const MOST = 64

/**
 * A project name for the name of a group, which may hold anything: `Data Science Team` is `Data-Science-Team`. What Berth takes as a name
 * stays as it is; a name without a Latin letter or digit gives `group`.
 *
 * @param count 2 and more for the next names, if the first is in use: `Data-Science-Team-2`
 */
export function projectNameOf(displayName: string, count = 1): string {
  const end = count === 1 ? '' : `-${count}`
  const plain = displayName
    // Letters without their accents.
    .normalize('NFKD')
    .replaceAll(/\p{M}/gu, '')
    .replaceAll(/[^A-Za-z0-9._-]+/g, '-')
    .replace(/^[^A-Za-z0-9]+/, '')
    .slice(0, MOST - end.length)
  const name = withoutEnd(plain) || 'group'
  return (isLikeId(name) ? `group-${name}` : name) + end
}

/** Without the signs at the end that no name ends with. A loop: a pattern for it takes the square of the length. */
function withoutEnd(text: string): string {
  let length = text.length
  while (length > 0 && !/[A-Za-z0-9]/.test(text.charAt(length - 1))) length--
  return text.slice(0, length)
}
