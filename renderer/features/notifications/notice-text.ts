import { readNames, type AccountNewsKind } from '#manager/contract'
import { type Notice, type NoticeKind } from './notice.ts'
import { t } from '../../words/en/notices.ts'

const isOfTold = (kind: NoticeKind): kind is `told_${AccountNewsKind}` => kind.startsWith('told_')

/** The sentence of a notice, in the language of the page. */
export function noticeText({
  kind,
  name,
  person = '',
  count = 0,
}: Pick<Notice, 'kind' | 'name' | 'person' | 'count'>): string {
  if (kind === 'invitation' || kind === 'shared') return t(kind, { person, name })
  if (isOfTold(kind)) return t(kind, { person, name: allNames(name) })
  if (kind === 'message') return t(kind, { person, text: name })
  const isCounted = kind === 'uploaded' || kind === 'uploadFailed' || kind === 'tunnelsLost' || kind === 'tunnelsBack'
  return isCounted ? t(kind, { count }) : t(kind, { name })
}

function allNames(detail: string): string {
  const { names, more } = readNames(detail)
  return more > 0 ? t('andMore', { name: names, count: more }) : names
}
