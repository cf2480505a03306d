import type en from '../en/list-foot.ts'
import { type Translation } from '../message-types.ts'

export default {
  searchedPart: '전체 {total, number}개 중 최근 {held, number}개에서 검색함',
  shownPart: '전체 {total, number}개 중 최근 {held, number}개 표시',
  loadMore: '더 불러오기',
} satisfies Translation<typeof en>
