import { type NameFault } from './file-path.ts'
import { t } from './words.ts'

const TEXTS = {
  empty: 'nameEmpty',
  dots: 'nameDots',
  slash: 'nameSlash',
  control: 'nameControl',
  long: 'nameLong',
} as const satisfies Record<NameFault, string>

export const faultText = (fault: NameFault): string => t(TEXTS[fault])
