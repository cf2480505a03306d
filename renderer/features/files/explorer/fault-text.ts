import { type NameFault } from '../../../data/files/file-path.ts'
import { t } from '../../../words/en/explorer.ts'

const TEXTS = {
  empty: 'nameEmpty',
  dots: 'nameDots',
  slash: 'nameSlash',
  control: 'nameControl',
  long: 'nameLong',
} as const satisfies Record<NameFault, string>

export const faultText = (fault: NameFault): string => t(TEXTS[fault])
