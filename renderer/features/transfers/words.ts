import en from '../../words/en/transfers.ts'
import { defineWords } from '../../words/i18n.ts'

export const t = defineWords('transfers', en)
