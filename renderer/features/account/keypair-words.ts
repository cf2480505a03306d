import en from '../../words/en/keypairs.ts'
import { defineWords } from '../../words/i18n.ts'

export const t = defineWords('keypairs', en)
