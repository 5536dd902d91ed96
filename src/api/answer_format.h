// What a request says of the texts that its answer may be.
#pragma once

#include "api/request.h"

namespace seedance::api {

// `grammar`, GBNF, or `json_schema`, an object; not both. They report into `fields`.
void read_format(Fields& fields, core::GenerateRequest& request);

// OpenAI's `response_format`, or `grammar` as llama-server has it; not both.
void read_response_format(Fields& fields, core::GenerateRequest& request);

}  // namespace seedance::api
