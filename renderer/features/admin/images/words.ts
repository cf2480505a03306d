import en from '../../../words/en/admin-images.ts'
import { defineWords } from '../../../words/i18n.ts'

export const t = defineWords('admin-images', en)
