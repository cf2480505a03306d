import type en from '../en/session-image.ts'
import { type Translation } from '../message-types.ts'

export default {
  title: '이 세션으로 이미지 만들기',
  about:
    '이 세션에 설치한 것을 이미지로 만들어 새 세션을 시작할 수 있습니다. 홈, 폴더, 키, 환경 변수는 포함되지 않습니다. 프로그램이 다른 곳에 쓴 파일은 포함되며, 모든 사용자가 이 이미지를 시작할 수 있습니다.',
  make: '이미지 만들기',
  ask: '이미지 요청',
  name: '이미지 이름',
  nameHint: '소문자와 태그로 씁니다. 예: {prefix}torch:2',
  imageTitle: '제목',
  imageTitleHint: '세션을 시작할 때 표시됩니다. 비워 두면 이 세션의 이미지 제목을 씁니다.',
  note: '용도',
  noteHint: '최고 관리자가 읽고 결정합니다.',
  waits: '최고 관리자의 결정을 기다리는 중: {name}',
  withdraw: '요청 취소',
  running: '만드는 중: {name}',
  progress: '약 {total} 중 {done}',
  cancel: '취소',
  done: '{name} 이미지를 만들었습니다. 이미지 목록에 있습니다.',
  failed: '{name} 이미지를 만들지 못했습니다: {why}',
  asked: '최고 관리자가 이미지를 결정합니다.',
  begun: '이미지를 만들고 있습니다.',
} as const satisfies Translation<typeof en>
