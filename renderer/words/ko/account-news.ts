import type en from '../en/account-news.ts'
import { type Translation } from '../message-types.ts'

export default {
  title: '내 계정에 있었던 일',
  what: '알림을 지운 뒤에도 30일 동안 남습니다. 내가 하지 않은 일이 있으면 비밀번호를 바꾸고 관리자에게 문의하세요.',
  none: '지난 30일 동안 아무 일도 없었습니다.',
  more: '이전 내용 보기',
  loading: '내 계정에 있었던 일을 불러오는 중',
} satisfies Translation<typeof en>
